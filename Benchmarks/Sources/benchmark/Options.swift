import Foundation

/// The options of the command line.
struct Options {
  /// The workloads to run: "W8" includes W8a and W8b. Empty means all.
  var only: [String] = []
  /// The number of measured rounds, after a warm-up round.
  var rounds = 11
  /// A file for the Markdown table, in addition to standard output.
  var output: String?
  /// A file for the figures of each round, for programs.
  var json: String?
  /// Whether statements, allocations and retains are counted in an additional round.
  var counts = true
  /// The program of a peer, which runs its workloads in a child process.
  var peer: String?
  /// The arguments of child processes that the program itself starts.
  var child: [String]?
  /// The numbers of books in W30's libraries.
  var sizes = [100_000, 1_000_000]
  /// The number of objects of a store that is mirrored to another device, instead of the workloads.
  var mirrorCount: Int?
  /// The divisor of the data's size: 1 for the designed size, 100 for a hundredth of it.
  var divisor: UInt32 = 1
  /// A folder in memory for the databases.
  var memoryFolder = "/dev/shm"
  /// A folder on a real disk, for W14b.
  var diskFolder = FileManager.default.currentDirectoryPath
  /// The package index for W19 and W20, as printed by `apt-cache dumpavail`.
  var archive: String?
  /// Whether to run only the C side.
  var rawOnly = false
  /// A file for the start and end of each measured part of our side, in seconds of the monotonic clock, for a profiler.
  var intervals: String?
  /// Whether to only list the workloads.
  var list = false
  /// Whether to only check that both sides have equal results: little data, one round, no figures. Allowed in a debug build.
  var isSmokeTest = false

  static let usage = """
    usage: benchmark [--only W4,W5] [--rounds N] [--output FILE] [--json FILE] [--scale DIVISOR] [--memory-folder DIR] [--disk-folder DIR]
                     [--archive FILE] [--raw-only] [--no-counts] [--list] [--intervals FILE] [--peer PROGRAM]
                     [--sizes BOOKS,BOOKS]
           benchmark --smoke --archive FILE [--only W4,W5]
           benchmark --mirror OBJECTS [--memory-folder DIR]
    """

  /// Parses the arguments after the program's name.
  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var iterator = arguments.makeIterator()
    while let argument = iterator.next() {
      switch argument {
      case "--raw-only": rawOnly = true
      case "--list": list = true
      case "--no-counts": counts = false
      case "--child":
        var rest: [String] = []
        while let argument = iterator.next() { rest.append(argument) }
        child = rest
      case "--smoke": beSmokeTest()
      case "--only", "--rounds", "--output", "--scale", "--memory-folder", "--disk-folder", "--archive", "--intervals",
        "--json", "--peer", "--sizes", "--mirror":
        guard let value = iterator.next() else { throw UsageError(message: "\(argument) needs a value") }
        try set(argument, to: value)
      default: throw UsageError(message: "unknown argument \(argument)")
      }
    }
  }

  private mutating func beSmokeTest() {
    isSmokeTest = true
    divisor = 100
    rounds = 0
    sizes = [1_000]
    memoryFolder = FileManager.default.temporaryDirectory.path
    diskFolder = memoryFolder
  }

  private mutating func set(_ argument: String, to value: String) throws(UsageError) {
    switch argument {
    case "--only": only = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    case "--output": output = value
    case "--json": json = value
    case "--peer": peer = value
    case "--memory-folder": memoryFolder = value
    case "--disk-folder": diskFolder = value
    case "--archive": archive = value
    case "--intervals": intervals = value
    case "--mirror":
      guard let count = Int(value), count > 0 else { throw UsageError(message: "--mirror needs a number of objects, such as 1000000") }
      mirrorCount = count
    case "--sizes":
      sizes = value.split(separator: ",").compactMap { Int($0) }.filter { (100...100_000_000).contains($0) }.sorted()
      if sizes.isEmpty { throw UsageError(message: "--sizes needs numbers of books, 100 to 100000000, such as 100000,1000000") }
    default:
      guard let number = Int(value), (1...1000).contains(number) else { throw UsageError(message: "\(argument) needs a number, 1 to 1000") }
      if argument == "--rounds" { rounds = number } else { divisor = UInt32(number) }
    }
  }

  /// Whether a workload is selected.
  func includes(_ id: String) -> Bool {
    let id = String(id.prefix { $0 != "-" })  // "W30a-100000" is W30a with that many books
    return only.isEmpty || only.contains { id == $0 || (id.hasPrefix($0) && id.dropFirst($0.count).allSatisfy(\.isLetter)) }
  }
}

/// A wrong use of the command line.
struct UsageError: Error {
  let message: String
}
