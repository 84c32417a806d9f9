"""Fakes and checks for the tests of people who build on Discreet."""
