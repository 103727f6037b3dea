// The program whose memory is searched for keys: it opens a store as an application does, works with it and closes it, and stops where it is looked at.
//
// Arguments: the store, a file with its passphrase or recovery key, and, where it is to end with a core, the folder for that. Nothing secret is in the arguments or the environment, and what is read of the file
// goes into a secret's own memory at once.
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

/// Says how far the program is, and waits until somebody has looked.
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
    // Its first sixteen bytes are looked for, and stand nowhere in the program.
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
