public import Foundation
public import ObjectContext
public import ObjectModel
public import ObjectStore
public import Observation

/// A document: a folder that contains one store, its keys and large values, and the application's own files. It belongs to the main actor,
/// and saves automatically.
///
/// ```swift
/// let document = try ManagedDocument(url: url, model: model) { $0.key = .passphrase("correct horse") }
/// try await document.save(to: url, for: .creating)     // or: try await document.open()
/// let book = Book(context: document.managedObjectContext)
/// book.title = "Emma"                                  // saved automatically after a delay
/// try document.close()
/// ```
///
/// Several documents, in one or more processes, can use the same folder. Each merges the others' saves as soon as the main actor is free.
/// Changes of different properties are merged. If both sides have changed the same property, the document is ``DocumentState/inConflict``,
/// and the application resolves the conflict.
///
/// A document that is deallocated saves its changes and closes. If that save fails, the changes are lost, and ``errorHandler`` receives the
/// error. See <doc:Documents>.
///
/// The document is `Observable`: its state, its conflicts and its error can be observed. Its context remains the same for the document's
/// lifetime, whether the document is open or closed, and has no undo manager unless you set one.
@MainActor public final class ManagedDocument {
  /// The document's folder.
  public nonisolated let url: URL
  /// The container of the document's store, for background operations. The document sees their changes after they were saved.
  public nonisolated let container: PersistentContainer
  private let core: DocumentCore
  private let registrar = ObservationRegistrar()
  private var stateListeners: [AsyncStream<DocumentState>.Continuation] = []

  /// Creates a closed document. Nothing is read or created on disk.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - model: The model of the store.
  ///   - classes: The classes of the objects. Generated code contains the table for its model.
  ///   - stagedMigrationManager: The migration stages between versions of the model, for stores of earlier versions. Generated code
  ///     contains the versions of a bundle; see ``StagedMigrationManager/init(_:label:customStages:)``.
  ///   - mergePolicy: The policy for conflicts. With `nil`, the application resolves them with ``resolveConflicts(keeping:)``.
  ///   - autosaveDelay: The time between the last change and an automatic save. With `nil`, the document saves only on request, when it is
  ///     closed and when it is deallocated.
  ///   - clock: The clock that measures the delay.
  ///   - configure: Completes the description of the store, usually with its key. Persistent history and remote-change notifications,
  ///     through which documents see each other's changes, are enabled unless the closure disables them.
  /// - Throws: ``ModelValidationError`` with all issues of the model, or with the classes or rules that do not fit it.
  public init(
    url: URL, model: ManagedObjectModel, classes: ManagedObjectClasses = ManagedObjectClasses(),
    stagedMigrationManager: StagedMigrationManager? = nil, mergePolicy: MergePolicy? = nil,
    autosaveDelay: Duration? = .seconds(2), clock: some Clock<Duration> = ContinuousClock(),
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws(ModelValidationError) {
    self.url = url
    container = try PersistentContainer(
      name: url.deletingPathExtension().lastPathComponent, managedObjectModel: model, classes: classes,
      stagedMigrationManager: stagedMigrationManager, mergePolicy: mergePolicy ?? MergePolicy(DocumentMergeResolver()))
    var description = PersistentStoreDescription(type: DocumentCore.encryptedType)
    description.historyTracking = true
    description.postsRemoteChangeNotifications = true
    configure(&description)
    var makeAutosave: (@MainActor (DocumentCore) -> Autosave)?
    if let autosaveDelay {
      makeAutosave = { core in
        core.context.startAutosaving(
          after: autosaveDelay, clock: clock, isolation: MainActor.shared, saving: { [weak core] _ in try core?.saveAutomatically() },
          onError: { [weak core] in core?.errorHandler?($0) })
      }
    }
    core = DocumentCore(DocumentFolder(url: url), container, description, resolvesConflicts: mergePolicy != nil, makeAutosave)
    core.willChange = { [weak self] in self?.willChangeState() }
    core.didChange = { [weak self] in self?.didChangeState() }
  }

  isolated deinit {
    for listener in stateListeners { listener.finish() }
    core.finish()
  }

  // MARK: State

  /// The context of the document's objects, on the main actor. It cannot read or save while the document is closed.
  public var managedObjectContext: ManagedObjectContext { container.viewContext }

  /// The current state of the document.
  public var documentState: DocumentState { tracked(\.documentState, core.state) }

  /// The objects that were changed both in the document and elsewhere; empty unless the document is ``DocumentState/inConflict``.
  public var conflicts: [DocumentConflict] { tracked(\.conflicts, core.conflicts) }

  /// The error of the last save; `nil` if it succeeded.
  public var savingError: (any Error)? { tracked(\.savingError, core.savingError) }

  /// Whether there are unsaved changes of objects or of the application's files.
  public var hasUnsavedChanges: Bool { core.hasUnsavedChanges }

  /// Called with the error of a save that the application did not request: an automatic save, or the last save of a document that is
  /// deallocated.
  public var errorHandler: (@MainActor (any Error) -> Void)? {
    get { core.errorHandler }
    set { core.errorHandler = newValue }
  }

  /// Returns a stream of the document's states, starting with the current one. The stream ends when the document is deallocated.
  public func documentStates() -> AsyncStream<DocumentState> {
    let (stream, continuation) = AsyncStream.makeStream(of: DocumentState.self)
    continuation.yield(core.state)
    stateListeners.append(continuation)
    return stream
  }

  private func tracked<Value>(_ keyPath: KeyPath<ManagedDocument, Value>, _ value: @autoclosure () -> Value) -> Value {
    registrar.access(self, keyPath: keyPath)
    return value()
  }

  private func willChangeState() {
    registrar.willSet(self, keyPath: \.documentState)
    registrar.willSet(self, keyPath: \.conflicts)
    registrar.willSet(self, keyPath: \.savingError)
  }

  private func didChangeState() {
    registrar.didSet(self, keyPath: \.documentState)
    registrar.didSet(self, keyPath: \.conflicts)
    registrar.didSet(self, keyPath: \.savingError)
    stateListeners.removeAll { listener in
      if case .terminated = listener.yield(core.state) { return true }
      return false
    }
  }

  // MARK: Opening and closing

  /// Opens the document.
  ///
  /// - Throws: ``DocumentError`` if the document does not exist, is damaged, has a newer format, or is already open; ``StoreError`` if its
  ///   store cannot be opened.
  public func open() async throws { try await core.open(isNew: false) }

  /// Saves unsaved changes and closes the document. If the save fails, the document stays open.
  ///
  /// Objects that are still referenced keep their last values. Closing a closed document has no effect.
  ///
  /// - Parameter discardingChanges: Whether to discard unsaved changes instead of saving them.
  /// - Throws: The errors of ``save()``; ``StoreError`` if the store could not be closed cleanly.
  public func close(discardingChanges: Bool = false) throws {
    guard core.isOpen else { return }
    if !discardingChanges, core.hasUnsavedChanges { try core.save() }
    try core.close()
  }

  // MARK: Saving

  /// Saves the objects and then the application's files.
  ///
  /// - Throws: ``DocumentError`` if the document is closed or in conflict, or its folder is not at its location; the errors of
  ///   ``ManagedObjectContext/save()``, which ``savingError`` stores too. The changes remain unsaved.
  public func save() throws { try core.save() }

  /// Saves the document to a folder.
  ///
  /// If the folder is the document's own, a document that does not exist is created and opened, and an open document is saved. If it is
  /// another folder, the document is saved, and copied there as a new document with the same keys; this document keeps its location.
  /// Overwriting replaces the existing document by the complete copy.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - operation: Whether to create a document at an unused location, or to overwrite an existing one.
  /// - Throws: ``DocumentError`` if the location is in use when creating, or there is no document when overwriting; the errors of
  ///   ``save()`` and ``open()``.
  public func save(to url: URL, for operation: DocumentSaveOperation) async throws {
    let target = DocumentFolder(url: url)
    let isOwn = url.standardizedFileURL.path == self.url.standardizedFileURL.path
    switch (operation, isOwn) {
    case (.creating, true):
      if core.isOpen { throw DocumentError(.alreadyExists, url.path) }
      try await core.open(isNew: true)
    case (.overwriting, true):
      if !core.isOpen { _ = try target.info() }
      try core.save()
    case (.creating, false):
      try core.save()
      try await core.copy(to: target)
    case (.overwriting, false):
      _ = try target.info()
      try core.save()
      let staged = target.staged()
      try await core.copy(to: staged)
      try target.replace(by: staged)
    }
  }

  /// Resolves the conflicts of a document that is ``DocumentState/inConflict``, and saves it.
  ///
  /// - Throws: The errors of ``save()``. The document may be in conflict again because of changes saved elsewhere in the meantime.
  public func resolveConflicts(keeping resolution: DocumentConflictResolution) throws { try core.resolveConflicts(resolution) }

  /// Checks whether the folder is still the one that was opened. Each save and each merge perform this check. Call this method if the
  /// folder may have been moved.
  ///
  /// - Throws: ``DocumentError`` with ``DocumentError/Code/moved`` or ``DocumentError/Code/replaced``, or with another code if `Info.json`
  ///   cannot be read. The document is ``DocumentState/editingDisabled`` until the folder is restored.
  public func checkFolder() throws(DocumentError) { try core.checkFolder() }
}

extension ManagedDocument: Observable {}

extension ManagedDocument {
  /// The names of the application's own files in the document, sorted, including files that have not been saved yet.
  public var additionalContentNames: [String] { core.content.names }

  /// Returns the contents of one of the application's own files, or `nil` if it does not exist.
  ///
  /// - Throws: ``DocumentError`` if the file name is not valid or the file cannot be read.
  public func additionalContent(named name: String) throws(DocumentError) -> Data? { try core.content.data(named: name) }

  /// Sets the contents of one of the application's own files. The next save writes the file atomically. `nil` removes the file.
  ///
  /// These files are **not encrypted**. Use them only for public data, such as a preview image for a list of documents.
  ///
  /// - Throws: ``DocumentError`` if the file name is not valid or the document is closed.
  public func setAdditionalContent(_ data: Data?, named name: String) throws(DocumentError) {
    guard core.isOpen else { throw DocumentError(.closed, url.path) }
    try core.content.set(data, named: name)
    core.recordContentChange()
  }
}
