// The classes of the archive's package index, generated from Schemas/DebianArchive.xcdatamodeld in a separate module.
