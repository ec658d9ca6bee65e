"""run_python_code as a tool of agent frameworks. Each module needs its framework, and imports it when used."""
