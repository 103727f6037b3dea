// ManagedDocument: a folder with a store and files of the application, which is opened, saves itself and is closed.
public import Foundation
public import ObjectModel
public import ObjectStore
public import Observation

/// A document: a folder with one store, its keys and large values, and files of the application's own. It belongs to the main actor, and saves itself.
///
/// ```swift
/// let document = try ManagedDocument(url: url, model: model) { $0.key = .passphrase("correct horse") }
/// try await document.save(to: url, for: .creating)     // or: try await document.open()
/// let book = Book(context: document.managedObjectContext)
/// book.title = "Emma"                                  // saved some time after the last change
/// try document.close()
/// ```
///
/// Several documents on one folder, in one process or in many, see each other's saves as soon as the main actor is free. Changes of both sides go together as long as
/// they are not of the same properties; where they are the document is ``DocumentState/inConflict``, and somebody decides. A document that nobody holds any more
/// saves what it has and closes; what cannot be saved then is told to ``errorHandler`` and lost. <doc:Documents> says more.
///
/// The document is `Observable`: its state, its conflicts and its error can be followed. Its context has an undo manager if it is given one: the context is the same
/// as long as the document is there, whether open or not.
@MainActor public final class ManagedDocument {
  /// The document's folder.
  public nonisolated let url: URL
  /// The document's store with its contexts: for work in the background, which the document sees once it is saved.
  public nonisolated let container: PersistentContainer
  private let core: DocumentCore
  private let registrar = ObservationRegistrar()
  private var stateListeners: [AsyncStream<DocumentState>.Continuation] = []

  /// Makes a document that is closed. Nothing is read or made.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - model: The model of the store.
  ///   - classes: The classes of the objects; generated code has the table of its model.
  ///   - stagedMigrationManager: The stages between the versions of the model, for stores of earlier ones. Generated code has the versions of a bundle; see
  ///     ``StagedMigrationManager/init(_:label:customStages:)``.
  ///   - mergePolicy: What is done about conflicts. Nil leaves them to ``resolveConflicts(keeping:)``.
  ///   - autosaveDelay: How long after the last change the document is saved by itself; nil saves only when asked to, and at the end.
  ///   - clock: What measures that time.
  ///   - configure: Completes the description of the store: gives it its key, as a rule. The history and the notices of others' commits, by which documents see each
  ///     other, are on unless it says otherwise.
  /// - Throws: ``ModelValidationError`` with every mistake of the model, or with the classes or rules that do not fit it.
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
    // The encrypted store, whose class is known once somebody gives a key.
    var description = PersistentStoreDescription(type: StoreType(rawValue: "SQLCipher"))
    description.historyTracking = true
    description.postsRemoteChangeNotifications = true
    configure(&description)
    var makeAutosave: (@MainActor (DocumentCore) -> Autosave)?
    if let autosaveDelay {
      makeAutosave = { core in
        core.context.autosaves(
          after: autosaveDelay, clock: clock, isolation: MainActor.shared, saving: { [weak core] _ in try core?.saveByItself() },
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

  /// The context of the document's objects, which the main actor has. Nothing can be read or saved while the document is closed.
  public var managedObjectContext: ManagedObjectContext { container.viewContext }

  /// What the document is at the moment.
  public var documentState: DocumentState { tracked(\.documentState, core.state) }

  /// What was changed here and saved by others too; empty unless the document is ``DocumentState/inConflict``.
  public var conflicts: [DocumentConflict] { tracked(\.conflicts, core.conflicts) }

  /// Why the last save has failed; nil after one that has not.
  public var savingError: (any Error)? { tracked(\.savingError, core.savingError) }

  /// Whether something is to be saved: changed objects, or files of the application.
  public var hasUnsavedChanges: Bool { core.hasUnsavedChanges }

  /// Called with what a save has thrown that nobody has asked for: one by itself, or the last one of a document that nobody holds any more.
  public var errorHandler: (@MainActor (any Error) -> Void)? {
    get { core.errorHandler }
    set { core.errorHandler = newValue }
  }

  /// The document's states, beginning with the present one. The sequence ends with the document.
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
  /// - Throws: ``DocumentError`` where there is no document, a damaged or a newer one, or this one is open; ``StoreError`` where its store does not open.
  public func open() async throws { try await core.open(isNew: false) }

  /// Saves what is not saved yet, and closes the document. When the save fails it stays open.
  ///
  /// Objects that somebody still holds keep their last values. A document that is closed stays so.
  ///
  /// - Parameter discardingChanges: Whether what is not saved yet is given up instead.
  /// - Throws: What ``save()`` throws; ``StoreError`` where the store could not be closed in order.
  public func close(discardingChanges: Bool = false) throws {
    guard core.isOpen else { return }
    if !discardingChanges, core.hasUnsavedChanges { try core.save() }
    try core.close()
  }

  // MARK: Saving

  /// Saves the objects and then the files of the application.
  ///
  /// - Throws: ``DocumentError`` where the document is closed, in conflict, or its folder not where it was; what ``ManagedObjectContext/save()`` throws, which
  ///   ``savingError`` has too. The changes are there still.
  public func save() throws { try core.save() }

  /// Saves the document to a folder.
  ///
  /// To its own folder: a document that is not there is created and opened, one that is open is saved. To another folder the document is saved and copied, as a new
  /// document with the same keys, while it stays where it is; overwriting puts the copy in the place of the document that is there, whole.
  ///
  /// - Parameters:
  ///   - url: The folder.
  ///   - operation: Whether nothing may be there, or a document has to be.
  /// - Throws: ``DocumentError`` where something is there that is to be created, or nothing that is to be overwritten; what ``save()`` and ``open()`` throw.
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

  /// Decides whose changes are kept where the document is ``DocumentState/inConflict``, and saves.
  ///
  /// - Throws: What ``save()`` throws; the document may be in conflict still, with what others have saved meanwhile.
  public func resolveConflicts(keeping resolution: DocumentConflictResolution) throws { try core.resolveConflicts(resolution) }

  /// Looks whether the folder is still the one that was opened. Each save does, and each merge of what others have saved; call it when somebody may have moved the
  /// folder.
  ///
  /// - Throws: ``DocumentError`` with ``DocumentError/Code/moved`` or ``DocumentError/Code/replaced``. The document's state is
  ///   ``DocumentState/editingDisabled`` from then on, until the folder is back.
  public func checkFolder() throws(DocumentError) { try core.checkFolder() }
}

extension ManagedDocument: Observable {}

extension ManagedDocument {
  /// The names of the application's own files in the document, sorted, with those that are not saved yet.
  public var additionalContentNames: [String] { core.content.names }

  /// The content of a file of the application's own; nil where there is none.
  ///
  /// - Throws: ``DocumentError`` where the name cannot be a file's, or the file cannot be read.
  public func additionalContent(named name: String) throws(DocumentError) -> Data? { try core.content.data(named: name) }

  /// Sets the content of a file of the application's own, which the next save writes, whole or not at all; nil removes it.
  ///
  /// These files are **not encrypted**: they are for what anybody may know, such as a picture for a list of documents.
  ///
  /// - Throws: ``DocumentError`` where the name cannot be a file's, or the document is closed.
  public func setAdditionalContent(_ data: Data?, named name: String) throws(DocumentError) {
    guard core.isOpen else { throw DocumentError(.closed, url.path) }
    try core.content.set(data, named: name)
    core.noteContentChange()
  }
}
