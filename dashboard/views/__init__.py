"""The pages: each view calls selectors and renders one template."""
