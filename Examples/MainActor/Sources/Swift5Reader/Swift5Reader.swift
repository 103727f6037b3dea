// Swift5Reader: an application in the Swift 5 language mode whose code is the main actor's, with a class of its own.
import CipherData
import Foundation

/// What the class's generated property holds.
enum State: Int16, Sendable { case open, done }

/// A class whose properties are generated as an extension: nonisolated, as `ManagedObject` is.
final class Note: ManagedObject {
  override func awakeFromInsert() { text = "new" }
}

@main struct Swift5Reader {
  static func main() async throws {
    let container = try NotesModel.makeContainer(persistentStoreDescriptions: [PersistentStoreDescription(type: .inMemory)])
    try await container.loadPersistentStores()
    try await container.performBackgroundTask { context in
      for _ in 1...3 { Note(context: context).state = .done }
      try context.save()
    }
    let notes = try container.viewContext.fetch(Note.all.where { $0.state == .done })
    print(notes.count, notes.first?.text ?? "none")
  }
}
