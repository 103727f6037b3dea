print("generate-managed-objects")
