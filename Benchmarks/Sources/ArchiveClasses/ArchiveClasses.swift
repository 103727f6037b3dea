// The classes of the archive's package index, generated from Schemas/DebianArchive.xcdatamodeld: a module of their own.
