"""Projects that `discreet init` writes: `template` holds their files as they are, under the name `your-assistant`."""
