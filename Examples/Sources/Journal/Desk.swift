import CipherData
import CipherDataDocuments
import Foundation

/// An open journal with its list and commands. The document saves automatically some seconds after the last change. Entries that other
/// processes save appear in the list immediately.
@MainActor final class Desk {
  private let document: ManagedDocument
  private let list: FetchedResultsController<Entry>
  private let teller = Teller()
  /// The entry being edited, in a context of its own.
  private var sheet: Sheet?
  /// The running import.
  private var running: Task<Void, Never>?
  /// The exit status of a process that performs one command.
  private(set) var status = EXIT_SUCCESS

  private var context: ManagedObjectContext { document.managedObjectContext }

  /// Opens or creates the journal in a folder.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - passphrase: The journal's passphrase.
  ///   - delay: The time from the last change to the automatic save.
  static func open(_ url: URL, passphrase: String, savingAfter delay: Duration) async throws -> Desk {
    let document = try ManagedDocument(
      url: url, model: JournalModel.managedObjectModel, classes: JournalModel.classes, autosaveDelay: delay
    ) {
      $0.key = .passphrase(passphrase)
      $0.stagedMigrationManager = JournalModel.migration
    }
    if FileManager.default.fileExists(atPath: url.path) {
      try await document.open()
    } else {
      try await document.save(to: url, for: .creating)
    }
    return try Desk(document)
  }

  private init(_ document: ManagedDocument) throws {
    self.document = document
    document.errorHandler = { say("! not saved: \($0)") }
    document.managedObjectContext.undoManager = ContextUndoManager()
    list = FetchedResultsController(
      fetchRequest: Entry.all.sorted { $0.notebook.name }.sorted { ($0.isPinned.descending, $0.written, $0.title) },
      context: document.managedObjectContext, sectionName: { $0.notebook.name })
    try list.performFetch()
    list.delegate = teller
    let states = document.documentStates()
    Task { [weak self] in
      for await state in states where state.contains(.inConflict) { self?.printConflicts() }
    }
    say("\(list.numberOfObjects) entries. Type help for what there is to do.")
  }

  /// Waits for a running import, saves unsaved changes, and closes the journal.
  func close() async throws {
    await running?.value
    try document.close()
  }

  /// Handles Ctrl-C: stops a running import, or else quits.
  func interrupt() {
    if let running { return running.cancel() }
    do {
      try document.close()
      exit(128 + SIGINT)
    } catch { fail("not saved: \(error)") }
  }

  // MARK: Commands

  /// Performs a command.
  ///
  /// - Returns: Whether to continue.
  func perform(_ line: String) async -> Bool {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    guard let verb = words.first else { return true }
    if verb == "quit" { return false }
    do {
      try await perform(verb, words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : "")
      // The end of an event: rules run, the list is updated, and the changes form one undo step.
      context.processPendingChanges()
    } catch { fail("\(error)") }
    return true
  }

  /// Reports a failure.
  ///
  /// - Parameter status: The exit status of a process that performs one command.
  private func fail(_ text: String, _ status: Int32 = EXIT_FAILURE) {
    self.status = status
    say("! \(text)")
  }

  private func perform(_ verb: String, _ rest: String) async throws {
    if let sheet, let isDone = try sheet.perform(verb, rest) {
      if isDone { self.sheet = nil }
      return
    }
    switch verb {
    case "add": try add(rest)
    case "edit": try edit(entry(rest))
    case "list": show()
    case "remove": remove(entry(rest))
    case "pin": pin(entry(rest))
    case "search": try search(rest)
    case "import": beginImport(of: rest)
    case "count": say(try await count())
    case "undo":
      guard let steps = context.undoManager, steps.canUndo else { return fail("There is nothing to undo.") }
      let name = steps.undoActionName
      try context.undo()
      say("undone: \(name)")
    case "redo":
      guard let steps = context.undoManager, steps.canRedo else { return fail("There is nothing to do again.") }
      let name = steps.redoActionName
      try context.redo()
      say("done again: \(name)")
    case "keep": try keep(rest)
    case "save": try document.save()
    default:
      if verb != "help" { fail("There is no command \(verb).", EX_USAGE) }
      say("add NOTEBOOK: TITLE, edit N, list, pin N, remove N, search WORDS, count, import FILE (Ctrl-C stops it),")
      say("undo, redo, keep mine|theirs, save, quit;")
      say("of an entry that is edited: title TEXT, text TEXT, move NOTEBOOK, show, undo, redo, done, cancel")
    }
  }

  // MARK: Entries

  private func add(_ text: String) throws {
    let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    guard parts.count == 2, !parts[1].isEmpty else { return fail("add NOTEBOOK: TITLE", EX_USAGE) }
    // A fetch ends an event. Fetch before creating the entry, so that the list never contains it without a notebook.
    let notebook = try Notebook.named(parts[0], in: context)
    let entry = Entry(context: context)
    entry.title = parts[1]
    entry.written = Date()
    entry.notebook = notebook
    context.undoManager?.setActionName("add \(parts[1])")
  }

  private func remove(_ entry: Entry?) {
    guard let entry else { return }
    context.undoManager?.setActionName("remove \(entry.title)")
    context.delete(entry)
  }

  /// Pins or unpins an entry. Pinned entries come first in their notebook.
  private func pin(_ entry: Entry?) {
    guard let entry else { return }
    context.undoManager?.setActionName("\(entry.isPinned ? "unpin" : "pin") \(entry.title)")
    entry.isPinned.toggle()
  }

  private func edit(_ entry: Entry?) throws {
    guard let entry else { return }
    sheet = try Sheet(entry, over: context)
  }

  /// Returns the entry with a number in the list.
  private func entry(_ number: String) -> Entry? {
    guard !number.isEmpty else {
      fail("Which entry? Give its number; list shows them.", EX_USAGE)
      return nil
    }
    guard let number = Int(number), number > 0, let place = list.snapshot.place(ofItem: number - 1) else {
      fail("There is no entry \(number); list shows them.")
      return nil
    }
    return list.object(at: place)
  }

  private func show() {
    var number = 0
    for section in list.sections ?? [] {
      say("── \(section.name) (\(section.numberOfObjects))")
      for entry in section.objects {
        number += 1
        say("\(number)  \(entry.isPinned ? "* " : "")\(entry.title)")
      }
    }
    say("\(number) entries\(document.hasUnsavedChanges ? ", not all of them saved" : "")")
  }

  private func search(_ words: String) throws {
    let found = try context.fetch(
      Entry.all.where { $0.title.contains(words, .caseInsensitive) || $0.text.contains(words, .caseInsensitive) }.sorted { $0.title })
    for entry in found { say("? \(entry.notebook?.name ?? ""): \(entry.title)") }
    say("\(found.count) found")
  }

  /// Counts words in the background. Snapshots can be sent there, objects cannot.
  private func count() async throws -> String {
    let entries = try context.fetch(Entry.all, as: Entry.Snapshot.self)
    let words = await Task.detached {
      entries.reduce(0) { $0 + "\($1.title) \($1.text)".split(whereSeparator: \.isWhitespace).count }
    }.value
    return "\(words) words in \(entries.count) entries"
  }

  // MARK: Import

  /// Starts an import of a file. The journal stays usable, and its list shows each batch as soon as it is saved.
  private func beginImport(of path: String) {
    if path.isEmpty { return fail("import FILE", EX_USAGE) }
    if running != nil { return fail("An import is going on; Ctrl-C stops it.") }
    running = Task {
      defer { running = nil }
      do {
        let entries = try await Task.detached { try ImportedEntry.entries(of: URL(fileURLWithPath: path)) }.value
        let added = try await Import(entries: entries).run(in: document.container) { progress in
          say("imported \(progress.done) of \(progress.total)")
        }
        say("import done: \(added) new, \(entries.count - added) were there already")
      } catch let error as BrokenLine {
        fail("\(path): \(error); nothing was imported")
      } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
        fail("There is no file \(path).")
      } catch let error as CocoaError {
        fail("\(path) was not imported: \(error.localizedDescription)")
      } catch {
        fail(Task.isCancelled ? "import stopped" : "import failed: \(error)")
        say("What was imported so far is kept; import the file again for the rest.")
      }
    }
  }

  // MARK: Conflicts

  private func printConflicts() {
    for conflict in document.conflicts {
      let keys = conflict.keys.isEmpty ? "deleted on one side" : conflict.keys.joined(separator: ", ")
      say("! changed here and elsewhere: \((context.object(with: conflict.objectID) as? Entry)?.title ?? "an entry"): \(keys)")
    }
    say("! keep mine, or keep theirs?")
  }

  private func keep(_ whose: String) throws {
    guard whose == "mine" || whose == "theirs" else { return fail("keep mine, or keep theirs?", EX_USAGE) }
    guard !document.conflicts.isEmpty else { return fail("There are no conflicts.") }
    try document.resolveConflicts(keeping: whose == "mine" ? .mine : .theirs)
    say("kept \(whose)")
  }
}

extension Notebook {
  /// Returns the notebook with a name, and creates it if necessary.
  static func named(_ name: String, in context: ManagedObjectContext) throws -> Notebook {
    if let known = try context.fetch(Notebook.all.where { $0.name == name }).first { return known }
    let made = Notebook(context: context)
    made.name = name
    return made
  }
}

extension ResultsSnapshot {
  /// Returns the position of an item by its number across all sections.
  fileprivate func place(ofItem number: Int) -> IndexPath? {
    var rest = number
    for (index, section) in sections.enumerated() {
      if rest < section.itemIdentifiers.count { return IndexPath(item: rest, section: index) }
      rest -= section.itemIdentifiers.count
    }
    return nil
  }
}
