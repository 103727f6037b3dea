import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import Synchronization
import _FaultInjection
import _ProofStore
import _StoreSpecification
import _TestSupport

/// What a process does repeatedly.
enum SoakRole: String, CaseIterable {
  /// Inserts, updates and deletes films, some with large values.
  case write
  case batch
  /// Fetches, faults and large values.
  case read
  /// Observes the other processes' changes, and reads them.
  case watch
  /// Backs up the store; rotates, migrates, replaces, verifies and destroys the copy.
  case copy
  /// Changes a passphrase, and reads with a new connection each time.
  case keys
}

/// Runs eight processes on one store for a long time, and samples their use of resources and the files. Each process writes a file of
/// samples into the folder.
func soak(folder: URL, seconds: Double, store: URL) throws {
  let settings = ProofSettings(hasHistory: true, patience: 30)
  let roles: [SoakRole] = [.write, .write, .batch, .read, .read, .watch, .copy, .keys]
  var processes: [Int32: String] = [:]
  // The process must not have started a thread before it forks, so another process creates the store.
  let maker = fault_fork()
  if maker == 0 {
    do {
      let open = try settings.open(store)
      try open.addFilms((0..<200).map { "base \($0)" }, poster: 4_000)
      try open.close()
    } catch {
      soakNote("the store: \(error)")
      exit(3)
    }
    exit(0)
  }
  var status: Int32 = 0
  guard waitpid(maker, &status, 0) == maker, status == 0 else { throw SoakFailure(what: "the store could not be made") }
  let end = Date(timeIntervalSinceNow: seconds)
  for (number, role) in roles.enumerated() {
    let process = fault_fork()
    if process == 0 { SoakActor(number: number, role: role, folder: folder, store: store, settings: settings).run(until: end) }
    processes[process] = "\(number) \(role)"
  }
  let samples = try SoakSamples(folder.appendingPathComponent("files.csv"), "seconds,database,log,large,sync")
  while Date() < end {
    let support = store.deletingLastPathComponent().appendingPathComponent(".\(store.lastPathComponent)_SUPPORT")
    let large = (FileManager.default.subpaths(atPath: support.path) ?? []).count
    // The disk's share of a save's duration: other processes of the machine use it too.
    let sync = try soakSync(folder.appendingPathComponent("sync"))
    samples.add("\(soakSize(store.path)),\(soakSize(store.path + "-wal")),\(large),\(String(format: "%.3f", sync))")
    sleep(1)
  }
  for (process, name) in processes {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    if status != 0 { throw SoakFailure(what: "process \(name) ended with \(status)") }
  }
}

struct SoakFailure: Error { var what: String }

func soakNote(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

private func soakSize(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// Returns the milliseconds for writing and syncing one page.
private func soakSync(_ url: URL) throws -> Double {
  let descriptor = open(url.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { throw SoakFailure(what: "\(url.path): \(String(cString: strerror(errno)))") }
  defer { close(descriptor) }
  let begun = DispatchTime.now().uptimeNanoseconds
  _ = [UInt8](repeating: 0, count: 4_096).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  guard fsync(descriptor) == 0 else { throw SoakFailure(what: "\(url.path): \(String(cString: strerror(errno)))") }
  return Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e6
}

/// A file of lines with timestamps.
final class SoakSamples {
  private let descriptor: Int32
  private let start = Date()

  init(_ url: URL, _ head: String) throws {
    descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SoakFailure(what: "\(url.path): \(String(cString: strerror(errno)))") }
    put(head + "\n")
  }

  func add(_ values: String) { put(String(format: "%.1f,", Date().timeIntervalSince(start)) + values + "\n") }

  private func put(_ text: String) { Data(text.utf8).withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) } }
}

/// One process.
struct SoakActor {
  let number: Int
  let role: SoakRole
  let folder: URL
  let store: URL
  let settings: ProofSettings

  func run(until end: Date) -> Never {
    do {
      let samples = try SoakSamples(
        folder.appendingPathComponent("\(number)-\(role).csv"), "seconds,resident,descriptors,works,median,most")
      let worker = try SoakWorker(self)
      var times: [Double] = []
      var next = Date(timeIntervalSinceNow: 1)
      while Date() < end {
        let begun = DispatchTime.now().uptimeNanoseconds
        try worker.step()
        times.append(Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e6)
        if Date() >= next {
          times.sort()
          let (median, most) = (times[times.count / 2], times[times.count - 1])
          samples.add("\(Self.resident),\(Self.descriptors),\(times.count),\(String(format: "%.3f,%.3f", median, most))")
          times = []
          next = Date(timeIntervalSinceNow: 1)
        }
        usleep(worker.pause)
      }
      try worker.close()
    } catch {
      soakNote("\(number) \(role): \(error)")
      exit(3)
    }
    exit(0)
  }

  /// The resident memory in bytes.
  private static var resident: Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  private static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
}

/// Whether remote changes were observed.
private final class NotificationFlag: Sendable {
  private let isNew = Atomic<Bool>(false)
  func add() { isNew.store(true, ordering: .sequentiallyConsistent) }
  func take() -> Bool { isNew.exchange(false, ordering: .sequentiallyConsistent) }
}

/// The steps of one process.
final class SoakWorker {
  private let actor: SoakActor
  private var settings: ProofSettings
  private var random: SeededGenerator
  private var open: OpenStore?
  private var count = 0
  private let received = NotificationFlag()
  private var observer: (any NSObjectProtocol)?
  private var passphrase: String?

  init(_ actor: SoakActor) throws {
    self.actor = actor
    settings = actor.settings
    settings.observesOthers = actor.role == .watch
    random = SeededGenerator(seed: UInt64(actor.number))
    switch actor.role {
    case .copy, .keys: break
    case .write, .batch, .read, .watch: open = try settings.open(actor.store)
    }
    if actor.role == .watch, let open {
      let received = received
      observer = NotificationCenter.default.addObserver(forName: .persistentStoreRemoteChange, object: open.coordinator, queue: nil) { _ in
        received.add()
      }
    }
  }

  /// The pause between two steps in microseconds.
  var pause: UInt32 {
    switch actor.role {
    case .write, .batch: 20_000
    case .read, .watch: 10_000
    case .copy, .keys: 200_000
    }
  }

  func close() throws { try open?.close() }

  func step() throws {
    do {
      switch actor.role {
      case .write: try write()
      case .batch: try batch()
      case .read: try read()
      case .watch: try watch()
      case .copy: try copy()
      case .keys: try keys()
      }
    } catch let error as StoreError where error.code == .busy {
      // Another process held the lock longer than the timeout; the latency shows that.
    }
  }

  private func opened() throws -> OpenStore {
    guard let open else { throw SoakFailure(what: "the store is not open") }
    return open
  }

  /// Inserts one film for each that it deletes, so that the size of the store is constant.
  private func write() throws {
    let context = try opened().newContext()
    count += 1
    let poster: Data? = count % 5 == 0 ? OpenStore.bytes(4_000 + count % 3_000, count) : nil
    try context.insert("Film", ["title": "w\(actor.number) \(count)", "year": 1_900 + count % 100, "poster": poster])
    if count > 100 {
      var request = FetchRequest<ManagedObject>(entityName: "Film")
      request.predicate = .compare("title", .equal, "w\(actor.number) \(count - 100)")
      for film in try context.fetch(request) { context.delete(film) }
    }
    var request = FetchRequest<ManagedObject>(entityName: "Film")
    request.predicate = .compare("title", .equal, "w\(actor.number) \(count - 50)")
    for film in try context.fetch(request) { try film.setValue(2_000, forKey: "year") }
    try context.save()
    // Keep a few thousand transactions.
    if actor.number == 0, count % 500 == 0 { try purge() }
  }

  private func purge() throws {
    let coordinator = try opened().coordinator
    let transactions = try coordinator.execute(.fetchHistory(after: nil)).transactions
    guard transactions.count > 1_000 else { return }
    _ = try coordinator.execute(.deleteHistory(before: transactions[transactions.count - 1_000].token))
  }

  private func batch() throws {
    let context = try opened().newContext()
    count += 1
    switch count % 3 {
    case 0: try context.execute(BatchDeleteRequest(entityName: "Film", predicate: .compare("title", .beginsWith, "b\(actor.number) ")))
    case 1:
      let objects = (0..<20).map { ["title": "b\(actor.number) \(count) \($0)", "year": $0] as [String: Any] }
      try context.execute(BatchInsertRequest(entityName: "Film", objects: objects))
    default:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Film", predicate: .compare("title", .beginsWith, "b\(actor.number) "),
          propertiesToUpdate: ["year": Int64(count % 100)]))
    }
  }

  private func read() throws {
    let context = try opened().newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Film")
    request.predicate = .compare("title", .beginsWith, "base \(Int.random(in: 0..<10, using: &random))")
    for film in try context.fetch(request) {
      guard let data = try film.externalData(forKey: "poster")?.data(), data.count >= 4_000 else {
        throw SoakFailure(what: "a large value is missing")
      }
    }
    if let error = context.pendingError { throw error }
  }

  private func watch() throws {
    guard received.take() else { return }
    let context = try opened().newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Film")
    request.predicate = .compare("title", .beginsWith, "base ")
    guard try context.count(for: request) == 200 else { throw SoakFailure(what: "films are missing") }
  }

  /// Makes a copy, uses it, and destroys it.
  private func copy() throws {
    let place = actor.folder.appendingPathComponent("copy-\(actor.number)")
    let file = try settings.unlock(actor.store)
    let (old, newer) = (settings, try ProofModel.model(2))
    try waitFor {
      try await file.backUp(to: place)
      let copy = try await SQLCipherStoreFile.unlock(at: place, key: ProofSettings.key(old.key))
      try await copy.rotateDataKey()
      let coordinator = PersistentStoreCoordinator(compiledModel: newer)
      let migrated = try await coordinator.addPersistentStore(with: old.description(place))
      try coordinator.remove(migrated)
      _ = try await copy.compact()
      let findings = try await copy.verify(.full)
      guard findings.isEmpty else { throw SoakFailure(what: "\(findings.prefix(3))") }
      try await coordinator.destroyPersistentStore(with: old.description(place))
    }
  }

  private func keys() throws {
    let file = try settings.unlock(actor.store)
    count += 1
    let new = "passphrase \(count)"
    let former = passphrase
    try waitFor {
      let key = StoreKey.passphrase(new, .cheapForTests())
      if let former {
        try await file.changeKey(from: .passphrase(former, .cheapForTests()), to: key)
      } else {
        try await file.addKey(key)
      }
    }
    passphrase = new
    var mine = settings
    mine.passphrase = new
    let store = try mine.open(actor.store)
    let films = try store.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Film"))
    try store.close()
    if films < 200 { throw SoakFailure(what: "films are missing") }
  }
}
