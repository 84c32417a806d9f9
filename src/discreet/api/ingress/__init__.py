"""What stands in front of all routes of the server: nothing raw goes in, and the owner's live answer comes out readable."""

from discreet.api.ingress.middleware import Ingress

__all__ = ["Ingress"]
