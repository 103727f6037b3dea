// Import: brings entries into a journal in the background, some at a time.
import CipherData
import Foundation

/// An import into a journal that stays open meanwhile. What a portion has saved is kept, whatever comes after it: an import that was stopped goes on when the same file is
/// imported again, since entries that are there already are passed over.
struct Import: Sendable {
  /// How far an import is.
  struct Progress: Hashable, Sendable {
    /// The entries that are in the journal now.
    var done = 0
    /// The entries of the file.
    let total: Int
  }

  let entries: [ImportedEntry]
  /// How many entries are saved together: enough that a save is worth it, and few enough that stopping is quick.
  var portion = 500

  /// Imports the entries.
  ///
  /// - Parameters:
  ///   - container: The journal's container.
  ///   - tell: Told after each portion, once it is saved.
  /// - Returns: How many entries were not in the journal before.
  /// - Throws: `CancellationError` where the task was cancelled, between portions or in one, which then is not saved; what a fetch or a save throws.
  func run(in container: PersistentContainer, tell: @Sendable (Progress) -> Void) async throws -> Int {
    try await container.performBackgroundTask { context in
      var progress = Progress(total: entries.count)
      var added = 0
      while progress.done < entries.count {
        try Task.checkCancellation()
        let next = entries[progress.done...].prefix(portion)
        added += try add(next, to: context)
        try context.save()
        // Nobody needs the objects any more: an import of any size takes the memory of a portion.
        context.reset()
        progress.done += next.count
        tell(progress)
      }
      return added
    }
  }

  /// Makes the entries that are not there yet.
  ///
  /// - Returns: How many they are.
  private func add(_ portion: ArraySlice<ImportedEntry>, to context: ManagedObjectContext) throws -> Int {
    let known = try context.fetch(Entry.all.where { $0.written.isIn(portion.map(\.written)) })
    var there = Set(known.map { Identity(notebook: $0.notebook?.name ?? "", title: $0.title, written: $0.written) })
    let new = portion.filter { there.insert(Identity(notebook: $0.notebook, title: $0.title, written: $0.written)).inserted }
    // Each is looked for once.
    var notebooks: [String: Notebook] = [:]
    for imported in new {
      let notebook = try notebooks[imported.notebook] ?? Notebook.named(imported.notebook, in: context)
      notebooks[imported.notebook] = notebook
      let entry = Entry(context: context)
      entry.title = imported.title
      entry.text = imported.text ?? ""
      entry.written = imported.written
      entry.notebook = notebook
    }
    return new.count
  }

  /// What makes two entries the same one.
  private struct Identity: Hashable {
    let notebook: String
    let title: String
    let written: Date
  }
}
