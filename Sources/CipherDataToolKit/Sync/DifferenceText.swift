import Foundation
import ObjectModel
import SyncCore
import SyncEngine

/// The texts of differences between a store, its records and the hub.
enum DifferenceText {
  /// Prints differences, one per line.
  static func write(_ records: [RecordDifference], _ objects: ObjectVerification, to sink: OutputSink) throws {
    for difference in records {
      let name = difference.id?.uuid.uuidString.lowercased() ?? "a record of another device"
      try sink.line("\(name): \(kind(difference))")
    }
    for difference in objects.differences { try sink.line(TableWriter.printable(text(difference))) }
  }

  static func kind(_ difference: RecordDifference) -> String {
    switch (difference.device, difference.hub) {
    case (_, nil): "missing on the hub"
    case (nil, _): "missing in the store"
    default: "different"
    }
  }

  private static func text(_ difference: ObjectDifference) -> String {
    let name = difference.objectID?.uriString ?? difference.stableID?.uuidString.lowercased() ?? ""
    let kind =
      switch difference.kind {
      case .missing: "missing, although there is a record"
      case .unknown: "without a record"
      case .different: "different from its record"
      }
    return "\(difference.entity) \(name): \(kind)"
  }
}
