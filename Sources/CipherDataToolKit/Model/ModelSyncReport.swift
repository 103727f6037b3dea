import ObjectModel
import SyncEngine

/// The output of `model lint --sync`.
struct ModelSyncReport {
  private let report: SyncSchemaReport
  private let path: String

  /// Creates the report of a valid model.
  init(of model: ManagedObjectModel, path: String) throws {
    report = SyncSchemaReport(SyncSchema(try CompiledModel(model)))
    self.path = path
  }

  func write(_ format: ModelCommand.Lint.Form, to sink: OutputSink) throws {
    switch format {
    case .text: for line in report.lines { try sink.line(TableWriter.printable(line)) }
    case .json: try sink.line(json.serialized())
    }
  }

  /// Throws if the model has obstacles or, if strict, warnings.
  func check(strict: Bool) throws {
    let counts = [(report.obstacles.count, "obstacle"), (strict ? report.warnings.count : 0, "warning")].filter { $0.0 > 0 }
    if counts.isEmpty { return }
    throw ToolError(
      .badData, "The model has \(counts.map { CountText.text($0.0, $0.1) }.joined(separator: " and ")) of synchronization.")
  }

  private var json: JSONValue {
    let entities = report.entities.map { entity in
      JSONValue.object([
        ("name", .string(entity.name)), ("parent", entity.parent.map { .string($0) } ?? .null), ("abstract", .bool(entity.isAbstract)),
        ("properties", .array(entity.properties.map(Self.json))),
      ])
    }
    let obstacles = report.obstacles.map {
      Self.json(entity: $0.entity, property: $0.property, reason: $0.reason.rawValue, $0.reason.explanation)
    }
    let warnings = report.warnings.map {
      Self.json(entity: $0.entity, property: $0.property, reason: $0.reason.rawValue, $0.explanation)
    }
    return .object([
      ("model", .string(path)), ("entities", .array(entities)), ("obstacles", .array(obstacles)), ("warnings", .array(warnings)),
    ])
  }

  private static func json(_ property: SyncSchemaReport.Property) -> JSONValue {
    .object([
      ("name", .string(property.name)), ("type", .string(property.type)), ("merge", .string(property.merge.name)),
      ("explanation", .string(property.merge.explanation)),
    ])
  }

  private static func json(entity: String, property: String, reason: String, _ explanation: String) -> JSONValue {
    .object([
      ("entity", .string(entity)), ("property", .string(property)), ("reason", .string(reason)), ("explanation", .string(explanation)),
    ])
  }
}
