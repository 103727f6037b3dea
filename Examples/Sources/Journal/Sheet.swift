// Sheet: an entry that is being written: a draft over the journal, with steps of its own to undo.
import CipherData
import Foundation

/// An entry in a context of its own. Nothing of it is in the journal before it is done.
@MainActor final class Sheet {
  private let draft: ManagedObjectContext
  private let entry: Entry

  init(_ entry: Entry, over journal: ManagedObjectContext) throws {
    draft = ManagedObjectContext(parent: journal)
    draft.undoManager = ContextUndoManager()
    // What others save meanwhile is below what is written here.
    draft.automaticallyMergesChangesFromParent = true
    let objectID = entry.objectID
    guard let own = try draft.existingObject(with: objectID) as? Entry else { throw CocoaError(.coderValueNotFound) }
    self.entry = own
    show()
  }

  /// Does what a line says.
  ///
  /// - Returns: Whether the sheet is done with; nil for a line that is none of a sheet's.
  func perform(_ verb: String, _ rest: String) throws -> Bool? {
    draft.processPendingChanges()
    switch verb {
    case "title": entry.title = rest
    case "text": entry.text = rest
    case "move": entry.notebook = try Notebook.named(rest, in: draft)
    case "show": break
    case "undo": try draft.undo()
    case "redo": try draft.redo()
    case "cancel":
      say("given up")
      return true
    case "done":
      // One step of the journal's, with a name.
      let journal = draft.parent?.undoManager
      journal?.beginUndoGrouping()
      defer { try? journal?.endUndoGrouping() }
      try draft.save()
      journal?.setActionName("edit \(entry.title)")
      say("done: \(entry.title)")
      return true
    default: return nil
    }
    draft.processPendingChanges()
    show()
    return false
  }

  private func show() { say("[\(entry.notebook?.name ?? "")] \(entry.title): \(entry.text)") }
}
