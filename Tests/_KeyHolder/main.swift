// The program whose memory is searched for keys. It opens a store as an application does, uses it and closes it, and stops at each point of
// inspection.
//
// Arguments: the store, a file with its passphrase or recovery key, and, to end with a core dump, the folder for that. Neither the
// arguments nor the environment contain a secret, and the contents of the file are read directly into a secret's own memory.
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys

/// Reads a secret without leaving a copy of it.
func secret(in path: String) throws -> SecretBytes {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { throw CocoaError(.fileNoSuchFile) }
  defer { close(file) }
  let size = Int(lseek(file, 0, SEEK_END))
  return SecretBytes(count: size) { _ = pread(file, $0.baseAddress, size, 0) }
}

/// Reports the program's state, and waits for a response after the inspection.
func stop(_ state: String) {
  let line = Array((state + "\n").utf8)
  _ = write(STDOUT_FILENO, line, line.count)
  _ = readLine()
}

let model = ManagedObjectModel(version: "1") {
  Entity("Film") { Attribute("title", .string).required() }
}

func work(at url: URL, _ key: StoreKey) async throws {
  let description = PersistentStoreDescription(url: url, key: key)
  let container = try PersistentContainer(name: "Films", managedObjectModel: model, persistentStoreDescriptions: [description])
  try await container.loadPersistentStores()
  let context = container.newBackgroundContext()
  for number in 0..<200 {
    let film = try context.insertObject(entityName: "Film")
    // The test searches for the first 16 bytes, which occur nowhere else in the program.
    try film.setValue("\(1_000_000_000_000_000 + number * 7_919_000_077) is its title", forKey: "title")
  }
  try context.save()
  stop("open")
  try container.close()
}

do {
  let arguments = CommandLine.arguments
  try await work(at: URL(fileURLWithPath: arguments[1]), .passphrase(try secret(in: arguments[2])))
} catch {
  stop("failed: \(error)")
  exit(1)
}
stop("closed")
if CommandLine.arguments.count > 3 {
  var limit = rlimit(rlim_cur: .max, rlim_max: .max)
  guard chdir(CommandLine.arguments[3]) == 0, setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { exit(2) }
  abort()
}
