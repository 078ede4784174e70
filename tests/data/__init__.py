"""The samples: data only, also a part of the package, for `quintet demo`."""
