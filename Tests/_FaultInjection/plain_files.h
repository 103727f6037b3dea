// Parts of the paths of files that tests write unencrypted on purpose, each with its reason.
"/dev/null", // nothing is stored
"_SUPPORT/abababababababab", // ExternalStorageCopyTests: an orphaned file
"/questions.sql", // PlainSQLiteTests: the queries for SQLite's shell
"/poster.png", // ExternalDataSpecification: the file that a large value is read from
"/Old.sqlite", // CoreDataImportTests: the imported Core Data stores
