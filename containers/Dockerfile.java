# The image of 'java' for the backend docker: sandbox images build java
# What the base has already is not installed again, so that one made locally needs no network.
ARG BASE=debian:bookworm-20240612-slim
FROM $BASE
ARG PACKAGES=yes
RUN command -v javac >/dev/null 2>&1 || \
    { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jdk-headless && rm -rf /var/lib/apt/lists/*; }
USER 65533:65533
