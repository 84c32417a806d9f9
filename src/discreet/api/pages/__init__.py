"""What all pages of a server share: sessions, forms that prove where they come from, templates, and headers that keep others out."""

from discreet.api.pages.area import Area
from discreet.api.pages.login import LoginPages
from discreet.api.pages.routes import Routes
from discreet.api.pages.site import Site
from discreet.api.pages.visit import Visit

__all__ = ["Area", "LoginPages", "Routes", "Site", "Visit"]
