import Foundation
import ObjectContext
import ObjectModel
import ObjectStore

/// The implementation of ``ManagedDocument``: its folder, store and state. When a document is deallocated, its core saves and closes it.
@MainActor final class DocumentCore {
  /// The type of the encrypted store, by its name.
  static let encryptedType = StoreType(rawValue: "SQLCipher")

  let folder: DocumentFolder
  let container: PersistentContainer
  private let description: PersistentStoreDescription
  private let resolvesConflicts: Bool
  /// Creates the autosave when the document is opened; `nil` if autosaving is disabled.
  private let makeAutosave: (@MainActor (DocumentCore) -> Autosave)?
  var content: AdditionalContent
  private(set) var state = DocumentState.closed
  private(set) var conflicts: [DocumentConflict] = []
  private(set) var savingError: (any Error)?
  /// The unsaved properties that were also changed elsewhere, by object.
  private var overridden: [ManagedObjectID: Set<String>] = [:]
  private var identity: DocumentFolder.Identity?
  private var autosave: Autosave?
  private var observer: UInt64?
  /// Called before and after each change of the observable state.
  var willChange: () -> Void = {}
  var didChange: () -> Void = {}
  var errorHandler: (@MainActor (any Error) -> Void)?

  init(
    _ folder: DocumentFolder, _ container: PersistentContainer, _ description: PersistentStoreDescription, resolvesConflicts: Bool,
    _ makeAutosave: (@MainActor (DocumentCore) -> Autosave)?
  ) {
    self.folder = folder
    self.container = container
    self.description = description
    self.resolvesConflicts = resolvesConflicts
    self.makeAutosave = makeAutosave
    content = AdditionalContent(folder)
  }

  var context: ManagedObjectContext { container.viewContext }
  var isOpen: Bool { !state.contains(.closed) }
  var hasUnsavedChanges: Bool { isOpen && (context.hasChanges || content.hasChanges) }

  private func change(_ body: () -> Void) {
    willChange()
    body()
    didChange()
  }

  func setState(_ new: DocumentState) {
    if new != state { change { state = new } }
  }

  // MARK: Opening and closing

  /// Opens the document. For a new document, creates the folder first.
  func open(isNew: Bool) async throws {
    guard state == .closed else { throw DocumentError(.alreadyOpen, folder.path) }
    setState([.closed, .editingDisabled])
    do {
      if isNew { try folder.create() } else { _ = try folder.info() }
      do { try await openStore(isNew: isNew) } catch {
        try? container.close()
        if isNew { folder.remove() }
        throw error
      }
    } catch {
      setState(.closed)
      throw error
    }
    begin()
  }

  private func openStore(isNew: Bool) async throws {
    var description = description
    description.url = folder.storeURL
    description.createsStore = isNew
    // Setting a key sets the class of the encrypted store.
    if description.type == Self.encryptedType, !description.type.hasStoreClass {
      throw StoreError(.documentWithoutKey, operation: .open, path: description.url?.path)
    }
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    // Written last, so that a folder whose creation was interrupted is not a document.
    if isNew { try folder.write(DocumentFolder.Info()) }
    identity = try folder.identity()
  }

  private func begin() {
    context.automaticallyMergesChangesFromParent = true
    if !resolvesConflicts { context.retainChangedObjects() }
    observer = context.addEventObserver { [weak self] event in
      if event.kind == .merged { self?.recordMerge(event) }
    }
    setState(.normal)
    autosave = makeAutosave?(self)
  }

  /// Closes the store without saving. Objects that are still referenced keep their last values.
  func close() throws {
    if let observer { context.removeEventObserver(observer) }
    observer = nil
    setState(.closed)
    // Ends after the state has changed to `closed`, so that it does not save.
    autosave?.end()
    autosave = nil
    context.automaticallyMergesChangesFromParent = false
    context.reset()
    content.discardChanges()
    overridden = [:]
    change { (conflicts, savingError) = ([], nil) }
    try container.close()
  }

  /// Saves unsaved changes and closes, when the document is deallocated.
  func finish() {
    guard isOpen else { return }
    if hasUnsavedChanges {
      do { try save() } catch { errorHandler?(error) }
    }
    do { try close() } catch { errorHandler?(error) }
  }

  // MARK: Saving

  /// Schedules an automatic save after a change of the application's own files.
  func recordContentChange() { autosave?.recordChanges() }

  /// Saves automatically, unless there are conflicts to resolve first.
  func saveAutomatically() throws {
    if isOpen, hasUnsavedChanges, !state.contains(.inConflict) { try save() }
  }

  /// Saves the objects, and then the application's files.
  func save() throws {
    guard isOpen else { throw DocumentError(.closed, folder.path) }
    try checkFolder()
    if state.contains(.inConflict) { throw DocumentError(.inConflict, folder.path) }
    try updatingState {
      // Changes saved elsewhere are merged first. They may cause a conflict.
      context.mergeWaitingChanges()
      if state.contains(.inConflict) { throw DocumentError(.inConflict, folder.path) }
      try context.save()
      try content.write()
    }
  }

  /// Throws if the folder is not the one that was opened. Editing is disabled until it is.
  func checkFolder() throws(DocumentError) {
    guard isOpen, let identity else { return }
    do {
      try folder.check(identity)
      if state.contains(.editingDisabled) { setState(state.subtracting(.editingDisabled)) }
    } catch {
      change {
        savingError = error
        state.formUnion([.savingError, .editingDisabled])
      }
      throw error
    }
  }

  /// Runs a save and updates the state with its result.
  private func updatingState(_ body: () throws -> Void) throws {
    do { try body() } catch let error as StoreError where !error.mergeConflicts.isEmpty || !error.constraintConflicts.isEmpty {
      let found = error.mergeConflicts.compactMap(DocumentConflict.init) + error.constraintConflicts.compactMap(DocumentConflict.init)
      change {
        conflicts = found
        state.insert(.inConflict)
      }
      throw DocumentError(.inConflict, folder.path)
    } catch let error as DocumentError where error.code == .inConflict {
      throw error
    } catch {
      change {
        savingError = error
        state.insert(.savingError)
      }
      throw error
    }
    if savingError != nil || !state.isDisjoint(with: [.savingError, .inConflict]) || !conflicts.isEmpty {
      change {
        (savingError, conflicts) = (nil, [])
        state.subtract([.savingError, .inConflict])
      }
    }
  }

  // MARK: Conflicts

  private func recordMerge(_ event: ContextEvent) {
    // Another process may have replaced the folder before it saved. The error is ignored here, since the next save reports it.
    try? checkFolder()
    if resolvesConflicts || event.overridden.isEmpty { return }
    overridden.merge(event.overridden) { $0.union($1) }
    let found = overridden.compactMap { id, keys in context.registeredObject(for: id).map { DocumentConflict($0, keys) } }
    change {
      conflicts = found
      state.insert(.inConflict)
    }
  }

  /// Saves with the application's resolution of the conflicts.
  func resolveConflicts(_ resolution: DocumentConflictResolution) throws {
    guard isOpen else { throw DocumentError(.closed, folder.path) }
    try checkFolder()
    // Changes that wait to be merged are covered by the resolution.
    context.mergeWaitingChanges()
    if case .theirs = resolution {
      context.setPropertiesToSavedValues(overridden)
      overridden = [:]
    }
    let policy = context.mergePolicy
    context.mergePolicy = resolution.mergePolicy
    defer { context.mergePolicy = policy }
    try updatingState {
      try context.save()
      try content.write()
    }
    overridden = [:]
  }

  // MARK: Copies

  /// Copies the saved document to a folder that does not exist yet, as an independent document.
  func copy(to other: DocumentFolder) async throws {
    try other.create()
    do {
      guard try await container.copyStore(to: other.storeURL) else { throw DocumentError(.notCopyable, folder.path) }
      try content.copy(to: other)
      try other.write(DocumentFolder.Info())
    } catch {
      other.remove()
      throw error
    }
  }
}

extension StoreError.Reason {
  fileprivate static var documentWithoutKey: Self { Self(.keyRequired, "A document needs a key: set the description's key.") }
}
