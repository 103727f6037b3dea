import CipherData
import Foundation

/// A background import of entries in batches, during which the journal stays open. Saved batches are kept. A stopped import continues when
/// the same file is imported again, since existing entries are skipped.
struct Import: Sendable {
  /// The progress of an import.
  struct Progress: Hashable, Sendable {
    /// The number of entries that are in the journal now.
    var done = 0
    /// The number of entries in the file.
    let total: Int
  }

  let entries: [ImportedEntry]
  /// The number of entries per save: large enough for efficient saves, and small enough to stop quickly.
  var batchSize = 500

  /// Imports the entries.
  ///
  /// - Parameters:
  ///   - container: The journal's container.
  ///   - report: Called after each batch is saved.
  /// - Returns: The number of new entries.
  /// - Throws: `CancellationError` if the task is canceled between batches or during one, which is then not saved; the errors of fetches
  ///   and saves.
  func run(in container: PersistentContainer, report: @Sendable (Progress) -> Void) async throws -> Int {
    try await container.performBackgroundTask { context in
      var progress = Progress(total: entries.count)
      var added = 0
      while progress.done < entries.count {
        try Task.checkCancellation()
        let next = entries[progress.done...].prefix(batchSize)
        added += try add(next, to: context)
        try context.save()
        // Release the objects, so that memory use does not depend on the size of the import.
        context.reset()
        progress.done += next.count
        report(progress)
      }
      return added
    }
  }

  /// Creates the entries that do not exist yet.
  ///
  /// - Returns: The number of new entries.
  private func add(_ batch: ArraySlice<ImportedEntry>, to context: ManagedObjectContext) throws -> Int {
    let known = try context.fetch(Entry.all.where { $0.written.isIn(batch.map(\.written)) })
    var there = Set(known.map { Identity(notebook: $0.notebook?.name ?? "", title: $0.title, written: $0.written) })
    let new = batch.filter { there.insert(Identity(notebook: $0.notebook, title: $0.title, written: $0.written)).inserted }
    // Each notebook is fetched once.
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

  /// The values that identify an entry.
  private struct Identity: Hashable {
    let notebook: String
    let title: String
    let written: Date
  }
}
