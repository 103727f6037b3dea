// An application in the Swift 5 language mode with the main actor as default isolation, and a class of its own.
import CipherData
import Foundation

/// The type of the class's generated property.
enum State: Int16, Sendable { case open, done }

/// A class whose properties are generated in an extension: nonisolated, as `ManagedObject` is.
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
