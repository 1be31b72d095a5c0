"""Tools that labs declare themselves: their metrics, versions, and who may use them."""
