"""Reviews: what many studies said together on a day, published to be cited."""
