"""Names of people, for those who switch them on: by what introduces them, or by models that are installed.

One recogniser a file; none is loaded before it is asked for.
"""
