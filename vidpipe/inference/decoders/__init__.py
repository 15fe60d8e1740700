"""One module a family of detectors: from output tensors to boxes."""
