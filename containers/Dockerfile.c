# The image of 'c' for the backend docker: sandbox images build c
# What the base has already is not installed again, so that one made locally needs no network.
ARG BASE=debian:bookworm-20240612-slim
FROM $BASE
ARG PACKAGES=yes
RUN command -v gcc >/dev/null 2>&1 || \
    { apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*; }
USER 65533:65533
