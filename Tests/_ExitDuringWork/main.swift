// A program that ends while its threads still save to a store, as programs do that do not close their stores.
//
// Argument: the folder for the store.
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys

let model = ManagedObjectModel(version: "1") {
  Entity("Film") { Attribute("title", .string).required() }
}

/// Saves films until the process ends.
func saveFilms(in container: PersistentContainer) {
  let context = container.newBackgroundContext()
  while true {
    do {
      let film = try context.insertObject(entityName: "Film")
      try film.setValue(String(repeating: "title ", count: 800), forKey: "title")
      try context.save()
      context.reset()
    } catch {
      print(error)
      exit(2)
    }
  }
}

guard CommandLine.arguments.count == 2 else { exit(64) }
let url = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true).appendingPathComponent("films.store")
let container = try PersistentContainer(
  name: "Films", managedObjectModel: model, persistentStoreDescriptions: [PersistentStoreDescription(url: url, key: .passphrase("ends"))])
try await container.loadPersistentStores()
for _ in 0..<4 { Thread { saveFilms(in: container) }.start() }
usleep(50_000)
