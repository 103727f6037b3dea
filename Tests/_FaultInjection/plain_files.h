// Parts of the paths of files that tests write in the clear on purpose, each with its reason.
"/dev/null", // nothing is kept
"/questions.sql", // PlainSQLiteTests: what SQLite's shell is asked
