"""What the integration and the escape tests share: see each module's first lines."""
