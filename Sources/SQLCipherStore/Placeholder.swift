// Filled by the first commits of the module.
