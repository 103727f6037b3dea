import ArgumentParser
import CipherData
import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore

/// Demonstrates the library with the machine's own package database.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Import this machine's package database into an encrypted store, run queries, synchronize two stores, and delete all.")

  @Option(help: ArgumentHelp("A package database or index to use instead of /var/lib/dpkg/status.", valueName: "file"))
  var input: String?

  @Flag(help: "Use the built-in sample of a dozen packages.")
  var sample = false

  func run() async throws {
    if let input { try ByteSource.check(path: input) }
    let input = sample ? nil : input ?? Demonstration.machineDatabase
    try await Demonstration(input: input, to: OutputSink()).run()
  }
}

/// A demonstration that imports a package database into an encrypted store in a temporary folder, runs queries, searches the files for
/// plaintext, tries a wrong passphrase, synchronizes two stores, and deletes everything.
package struct Demonstration {
  /// A query with the arguments of the shell's `fetch` command.
  private struct Query: Sendable {
    let title: String
    let line: String
  }

  private static let queries = [
    Query(
      title: "Which are the largest packages of the section “libs”?",
      line:
        #"Package --where section.name == "libs" --sort -installedSize, name --properties name, version, installedSize, maintainer.name"#),
    Query(
      title: "Who maintains essential packages?",
      line: "Maintainer --where ANY packages.essential == YES --sort name --properties name, packages.@count"),
    Query(
      title: "Which packages need a libc and are not libraries?",
      line: """
        Package --where ANY relations.alternatives.packageName BEGINSWITH "libc" AND NOT section.name IN {"libs", "libdevel"} \
        --sort -installedSize, name --properties name, section.name, installedSize, relations.@count
        """),
    Query(
      title: "Which sections take the most space?",
      line: "Package --select section.name, count(*) AS packages, sum(installedSize) AS size --group-by section.name --sort size desc"),
  ]

  private let input: String?
  private let sink: OutputSink

  /// Creates a demonstration.
  ///
  /// - Parameters:
  ///   - input: The path of a package database; `nil` for the built-in sample.
  ///   - sink: The destination of the output.
  package init(input: String?, to sink: OutputSink) {
    self.input = input
    self.sink = sink
  }

  /// The path of this machine's dpkg database, if it exists.
  package static var machineDatabase: String? {
    let path = "/var/lib/dpkg/status"
    let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber
    return (size?.intValue ?? 0) > 0 && FileManager.default.isReadableFile(atPath: path) ? path : nil
  }

  /// Runs the demonstration.
  ///
  /// - Throws: Errors of the store; ``ToolError`` if a check fails.
  package func run() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cipherdata-demo-\(UUID().uuidString)", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = folder.appendingPathComponent("packages.store")
    let clock = ContinuousClock()
    let start = clock.now

    guard let passphrase = SecretBytes.random(count: 24) else { throw ToolError(.software, "The system returned no random bytes.") }
    try printTitle("1. An encrypted store", "\(store.path), with a passphrase made up for this run")
    try await StoreCreation.create(store, model: DebianArchive.model, key: .passphrase(passphrase), label: "demonstration")
    let created = clock.now
    let file = try await SQLCipherStoreFile.unlock(at: store, key: .passphrase(passphrase))
    let container = try await PersistentContainer.open(file, isReadOnly: false)
    defer { try? container.close() }
    let unlocked = clock.now

    try printTitle("2. Real data", input ?? "the built-in sample: this machine has no package database of Debian's")
    let source = try input ?? Self.write(DebianArchive.sample, to: folder.deletingLastPathComponent())
    defer { if input == nil { try? FileManager.default.removeItem(atPath: source) } }
    let job = InputImport(format: .deb822, entity: nil, skipsBadLines: true)
    let summary = try await container.performBackgroundTask { context in
      let source = try ByteSource(path: source)
      let bar = ProgressBar("Importing", total: source.size)
      defer { bar.finish() }
      return try job.run(from: source, into: context) { _ in bar.update(source.position) }.summary
    }
    let imported = clock.now
    try await showCounts(container)

    try printTitle("3. Questions over relationships", "")
    let answer = clock.now
    for query in Self.queries { try await runQuery(query, container) }
    let answered = clock.now

    try printTitle("4. The files hold no plaintext", "")
    try await searchPlaintext(in: folder, container)

    try printTitle("5. A wrong passphrase is rejected", "")
    try await tryWrongPassphrase(store)

    let checked = clock.now
    try await SyncDemonstration(in: folder.appendingPathComponent("devices", isDirectory: true), firstTitle: 6, to: sink).run()
    let synchronized = clock.now

    try printTitle("9. Time and space", "")
    let size = try Self.files(in: folder).reduce(0) { $0 + $1.size }
    let rate = Double(summary.inserted) / max(Self.seconds(imported - unlocked), 0.001)
    for line in [
      "create and derive the key   \(Self.text(created - start))", "unlock and open             \(Self.text(unlocked - created))",
      "import \(summary.inserted) objects".padding(toLength: 28, withPad: " ", startingAt: 0)
        + "\(Self.text(imported - unlocked))  (\(Int(rate)) objects a second)",
      "answer the questions        \(Self.text(answered - answer))",
      "synchronize two stores      \(Self.text(synchronized - checked))", "everything                  \(Self.text(clock.now - start))",
      "the packages on disk        \(InfoText.bytes(size))",
    ] { try sink.line("   " + line) }
    try sink.line("\nThe stores and the hub are deleted again.")
    try sink.flush()
  }

  // MARK: Steps

  private func printTitle(_ title: String, _ text: String) throws {
    try sink.line("\n\(title)\(text.isEmpty ? "" : ": \(text)")")
    try sink.flush()
  }

  private func showCounts(_ container: PersistentContainer) async throws {
    let counts = try await container.performBackgroundTask { context in
      try context.persistentStoreCoordinator.compiledModel.entities.filter { !$0.isAbstract }.map { entity in
        (entity.name, try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name)))
      }
    }
    let table = OutputSink(descriptor: nil)
    let writer = TableWriter(columns: ["entity", "objects"], to: table)
    for (name, count) in counts where count > 0 { try writer.write([.string(name), .integer(count)]) }
    try writer.finish()
    try indent(table.text)
  }

  private func runQuery(_ query: Query, _ container: PersistentContainer) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    let all = try ShellGrammar.Fetch.parse(try ShellTokenizer.split(query.line)).query()
    var limited = all
    limited.specification.fetchLimit = 5
    let (text, count) = try await container.performBackgroundTask { [limited] context in
      let table = OutputSink(descriptor: nil)
      let count = OutputSink(descriptor: nil)
      try all.writeCount(from: context, to: count)
      try limited.write(from: context, format: .table, to: table)
      return (table.text, count.text.trimmingCharacters(in: .newlines))
    }
    let elapsed = clock.now - start
    try sink.line("\n   \(query.title)")
    try sink.line("   fetch \(query.line)")
    try indent(text)
    try sink.line("   … \(count) in all; \(Self.text(elapsed))")
  }

  private func indent(_ text: String) throws {
    for line in text.split(separator: "\n", omittingEmptySubsequences: true) { try sink.line("     " + line) }
  }

  /// Searches the store's files for names that it stores.
  private func searchPlaintext(in folder: URL, _ container: PersistentContainer) async throws {
    let words = try await container.performBackgroundTask { context in
      var words: Set<String> = ["SQLite format 3", "CREATE TABLE"]
      for (entity, key) in [("Package", "name"), ("Maintainer", "email"), ("Package", "summary")] {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.fetchLimit = 300
        for object in try context.fetch(request) {
          // Shorter words occur by chance in random bytes.
          if let text = try object.value(forKey: key) as? String, text.utf8.count >= 8 { words.insert(text) }
        }
      }
      return words.sorted()
    }
    var scanned = 0
    for file in try Self.files(in: folder) {
      let data = try Data(contentsOf: file.url)
      scanned += data.count
      if Self.count(of: words, in: data) > 0 {
        throw ToolError(.software, "\(file.url.lastPathComponent) contains plaintext, which must not happen.")
      }
      try sink.line(
        "   \(file.url.lastPathComponent): \(InfoText.bytes(data.count)), first bytes \(Hexadecimal.encode(data.prefix(12)))")
    }
    try sink.line(
      "   searched for \(words.count) names, addresses and words that the store holds in \(InfoText.bytes(scanned)): none found")
  }

  /// Returns the number of words, each at least eight bytes long, that the data contains, in one pass over the data.
  static func count(of words: [String], in data: Data) -> Int {
    var prefixes: [UInt64: [[UInt8]]] = [:]
    for word in words where word.utf8.count >= 8 {
      let bytes = Array(word.utf8)
      prefixes[bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }, default: []].append(bytes)
    }
    var found: Set<[UInt8]> = []
    data.withUnsafeBytes { bytes in
      guard bytes.count >= 8 else { return }
      for offset in 0...(bytes.count - 8) {
        guard let candidates = prefixes[bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)] else { continue }
        for candidate in candidates where bytes[offset...].starts(with: candidate) { found.insert(candidate) }
      }
    }
    return found.count
  }

  private func tryWrongPassphrase(_ store: URL) async throws {
    do {
      _ = try await SQLCipherStoreFile.unlock(at: store, key: .passphrase("not the passphrase"))
    } catch {
      let exitReport = ExitReport(error)
      guard exitReport.status == .noKey else { throw error }
      try sink.line("   exit status \(exitReport.status.rawValue): \(exitReport.message)")
      return
    }
    throw ToolError(.software, "A wrong passphrase opened the store, which must not happen.")
  }

  // MARK: Help

  private static func write(_ text: String, to folder: URL) throws -> String {
    let file = folder.appendingPathComponent("cipherdata-sample-\(UUID().uuidString)")
    try Data(text.utf8).write(to: file)
    return file.path
  }

  static func files(in folder: URL) throws -> [(url: URL, size: Int)] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
      .map { ($0, try $0.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
  }

  private static func seconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
  }

  static func text(_ duration: Duration) -> String {
    let seconds = seconds(duration)
    return seconds < 1 ? String(format: "%.1f ms", seconds * 1000) : String(format: "%.2f s", seconds)
  }
}
