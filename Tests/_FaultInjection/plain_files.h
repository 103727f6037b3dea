// Parts of the paths of files that tests write in the clear on purpose, each with its reason.
"/dev/null", // nothing is kept
"_SUPPORT/abababababababab", // ExternalStorageCopyTests: a file that belongs to nobody
"/questions.sql", // PlainSQLiteTests: what SQLite's shell is asked
"/poster.png", // ExternalDataSpecification: the file that a large value is taken from
"/Old.sqlite", // CoreDataImportTests: the stores of Core Data that are imported
