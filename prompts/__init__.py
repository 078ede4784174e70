"""The built-in rubrics, as data: one file per metric, what differs by kind as small parts."""
