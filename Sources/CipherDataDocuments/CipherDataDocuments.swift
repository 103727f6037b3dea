// CipherDataDocuments: documents, which are folders with an encrypted store and other files, and which are saved automatically.
//
// Applications without documents do not import this module, and do not compile it.
