"""Values in every field of every operation that an OpenAPI lists, and of every form of a site of pages."""
