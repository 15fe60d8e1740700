"""Everything that touches OpenVINO: models, the request pool, families of outputs, the zoo."""
