"""What tests of several rooms share and no user needs; for the rest there is `discreet.testing`."""
