"""Memory for any client of the Model Context Protocol: the tools, the server, and standard input and output."""
