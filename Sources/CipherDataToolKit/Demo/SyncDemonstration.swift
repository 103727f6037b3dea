import CipherData
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import SyncCrypto
import SyncEngine

/// The second part of the demonstration: two stores that mirror each other through a hub. Both are changed while the hub is away, and then
/// the hub is searched for what they contain.
struct SyncDemonstration {
  private static let model = ManagedObjectModel {
    Entity("Notebook") {
      Attribute("title", .string).required()
      Relationship("pages", toMany: "Page", inverse: "notebook").onDelete(.cascade)
    }
    Entity("Page") {
      Attribute("title", .string).required()
      Attribute("text", .string)
      Relationship("notebook", to: "Notebook", inverse: "pages")
    }
  }

  private static let notebookCount = 20
  private static let pageCount = 300

  /// The words that the stores contain: made up for this run, and too long to occur by chance.
  private let words: [String]
  private let folder: URL
  private let sink: OutputSink
  private let firstTitle: Int

  /// Creates the demonstration.
  ///
  /// - Parameters:
  ///   - folder: An empty folder for the stores and the hub.
  ///   - firstTitle: The number of its first step.
  ///   - sink: The destination of the output.
  init(in folder: URL, firstTitle: Int, to sink: OutputSink) throws {
    guard let random = SecretBytes.random(count: Self.wordCount * Self.wordLength) else {
      throw ToolError(.software, "The system returned no random bytes.")
    }
    let letters = random.withUnsafeBytes { bytes in bytes.map { UInt8(ascii: "a") + $0 % 26 } }
    words = (0..<Self.wordCount).map { number in
      String(decoding: letters[(number * Self.wordLength)..<((number + 1) * Self.wordLength)], as: UTF8.self)
    }
    (self.folder, self.sink, self.firstTitle) = (folder, sink, firstTitle)
  }

  private static let wordCount = 700
  private static let wordLength = 14

  private var hub: URL { folder.appendingPathComponent("hub.store") }

  /// An open store of a device, with its service.
  private struct Device {
    let name: String
    let synced: SyncedContainer
    let service: SyncService
  }

  /// Runs the steps.
  ///
  /// - Throws: Errors of the stores or the hub; ``ToolError`` if a check fails.
  func run() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try title(0, "A second device", "two stores and a hub, a file that both open")
    let key = try AccountRecoveryKey.random()
    let first = try await open("laptop") { synced in
      try await fill(synced)
      return try await SyncService.start(
        synced.store, of: synced.coordinator, hubPath: hub.path, recoveryKey: key, deviceName: "laptop")
    }
    defer { try? first.synced.container.close() }
    try await synchronize(first)
    let second = try await open("tablet") { synced in
      try await SyncService.join(synced.store, of: synced.coordinator, hubPath: hub.path, recoveryKey: key, deviceName: "tablet")
    }
    defer { try? second.synced.container.close() }
    try await synchronize(second)
    try await compare(first, second)

    try title(1, "Changes on both while the hub is away", "")
    let away = folder.appendingPathComponent("away.store")
    try FileManager.default.moveItem(at: hub, to: away)
    try await change(first, second)
    for device in [first, second] { try await failToSynchronize(device) }
    try FileManager.default.moveItem(at: away, to: hub)
    try line("the hub is back")
    for device in [first, second, first] { try await synchronize(device) }
    try await compare(first, second)

    try title(2, "The hub knows nothing of it", "")
    try await searchHub(first)
  }

  // MARK: Steps

  private func open(_ name: String, _ begin: (SyncedContainer) async throws -> SyncService) async throws -> Device {
    let url = folder.appendingPathComponent("\(name).store")
    guard let bytes = SecretBytes.random(count: 32) else { throw ToolError(.software, "The system returned no random bytes.") }
    try await StoreCreation.create(url, model: Self.model, key: .raw(bytes), label: "demonstration")
    let synced = try await SyncedContainer(try await SQLCipherStoreFile.unlock(at: url, key: .raw(bytes)))
    return Device(name: name, synced: synced, service: try await begin(synced))
  }

  /// Inserts notebooks and pages. Their titles and texts are the first words; the others follow in ``change(_:_:)``.
  private func fill(_ synced: SyncedContainer) async throws {
    let words = words
    try await synced.container.performBackgroundTask { context in
      var words = words.makeIterator()
      let notebooks = try (0..<Self.notebookCount).map { _ in
        let notebook = try context.insertObject(entityName: "Notebook")
        try notebook.setValue(words.next(), forKey: "title")
        return notebook
      }
      for number in 0..<Self.pageCount {
        let page = try context.insertObject(entityName: "Page")
        try page.setValue(words.next(), forKey: "title")
        try page.setValue(words.next(), forKey: "text")
        try page.setValue(notebooks[number % notebooks.count], forKey: "notebook")
      }
      try context.save()
    }
  }

  /// Changes the titles of pages on one device and their texts on the other one, which also deletes a notebook with its pages.
  private func change(_ first: Device, _ second: Device) async throws {
    let rest = words.dropFirst(Self.notebookCount + 2 * Self.pageCount)
    let (ofFirst, ofSecond) = (Array(rest.prefix(rest.count / 2)), Array(rest.dropFirst(rest.count / 2)))
    try await first.synced.container.performBackgroundTask { context in
      for (page, word) in zip(try Self.pages(context), ofFirst) { try page.setValue(word, forKey: "title") }
      try context.save()
    }
    try line("\(first.name): the titles of \(ofFirst.count) pages changed")
    let deleted = try await second.synced.container.performBackgroundTask { context in
      for (page, word) in zip(try Self.pages(context), ofSecond) { try page.setValue(word, forKey: "text") }
      var request = FetchRequest<ManagedObject>(entityName: "Notebook")
      request.sortDescriptors = [FetchSortDescriptor("title")]
      request.fetchLimit = 1
      let count = try context.count(for: FetchRequest<ManagedObject>(entityName: "Page"))
      for notebook in try context.fetch(request) { context.delete(notebook) }
      try context.save()
      return count - (try context.count(for: FetchRequest<ManagedObject>(entityName: "Page")))
    }
    try line("\(second.name): the texts of the same \(ofSecond.count) pages changed, and a notebook deleted with its \(deleted) pages")
  }

  /// Returns all pages in an order that is the same in both stores.
  private static func pages(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: "Page")
    request.sortDescriptors = [FetchSortDescriptor("title")]
    return try context.fetch(request)
  }

  private func synchronize(_ device: Device) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    let round = try await device.service.synchronize()
    try line("\(device.name): \(SyncText.summary(round)), in \(Demonstration.text(clock.now - start))")
  }

  private func failToSynchronize(_ device: Device) async throws {
    do { try await device.service.synchronize() } catch {
      let exitReport = ExitReport(error)
      guard exitReport.status == .noInput else { throw error }
      let pending = try device.synced.status().pendingChanges
      return try line("\(device.name): exit status \(exitReport.status.rawValue), \(CountText.text(pending, "change")) wait for the hub")
    }
    throw ToolError(.software, "Synchronization without a hub succeeded, which must not happen.")
  }

  private func compare(_ first: Device, _ second: Device) async throws {
    let (contents, other) = (try await contents(first), try await contents(second))
    guard contents == other else { throw ToolError(.software, "The two stores differ, which must not happen.") }
    try line("both stores contain the same \(contents.count) objects")
  }

  /// The values of all objects, in an order that does not depend on the store.
  private func contents(_ device: Device) async throws -> [[String?]] {
    try await device.synced.container.performBackgroundTask { context in
      let notebooks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Notebook"))
        .map { [try $0.value(forKey: "title") as? String] }
      let pages = try Self.pages(context).map { page in
        try ["title", "text", "notebook.title"].map { try page.value(forKeyPath: $0) as? String }
      }
      return (notebooks + pages).sorted { "\($0)" < "\($1)" }
    }
  }

  /// Searches the files of the hub, and its decrypted contents, for the words of the stores.
  private func searchHub(_ device: Device) async throws {
    var (files, size) = (0, 0)
    for file in try Demonstration.files(in: folder) where file.url.lastPathComponent.hasPrefix("hub.store") {
      try await checkAbsence(of: words, in: file.url)
      (files, size) = (files + 1, size + file.size)
    }
    // The hub's own key, which a program that steals the hub's files also gets.
    let key = StoreKey.passphrase(try PassphraseSource(file: hub.path + ".key").read())
    let plain = folder.appendingPathComponent("hub.plain")
    try await SQLCipherStoreFile.unlock(at: hub, key: key).exportPlaintext(to: plain, includesHistory: true)
    try await checkAbsence(of: words, in: plain)
    let decrypted = try Data(contentsOf: plain).count
    try line("searched for \(words.count) titles and texts in the hub's \(files) files, \(InfoText.bytes(size)): none found")
    try line("and in what the hub contains when decrypted with its key, \(InfoText.bytes(decrypted)): none found")
    // The same search finds them where they are.
    let copy = folder.appendingPathComponent("laptop.plain")
    try await device.synced.store.unlockedFile().exportPlaintext(to: copy, includesHistory: true)
    let found = Demonstration.count(of: words, in: try Data(contentsOf: copy))
    guard found > words.count / 2 else { throw ToolError(.software, "The search finds no words, which must not happen.") }
    try line("the same search finds \(found) of them in the decrypted store of the \(device.name)")
  }

  private func checkAbsence(of words: [String], in file: URL) async throws {
    guard Demonstration.count(of: words, in: try Data(contentsOf: file)) == 0 else {
      throw ToolError(.software, "\(file.lastPathComponent) contains what the stores contain, which must not happen.")
    }
  }

  // MARK: Output

  private func title(_ number: Int, _ title: String, _ text: String) throws {
    try sink.line("\n\(firstTitle + number). \(title)\(text.isEmpty ? "" : ": \(text)")")
    try sink.flush()
  }

  private func line(_ text: String) throws {
    try sink.line("   " + text)
    try sink.flush()
  }
}
