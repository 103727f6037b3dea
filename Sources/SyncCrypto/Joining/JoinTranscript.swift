import SyncCore

/// The hash of what both devices have said before the user compares the codes.
///
/// A hub between the devices can replace every message, and so have a join of its own with each device. The codes of both joins must then
/// differ, except with the probability of a guess, even though the hub can compute a million codes in a second. The order of the messages,
/// commitment → nonce → reveal, ensures that:
///
/// - The existing device gets a request whose content was fixed by the commitment before that device disclosed its nonce. Without a commitment,
///   the hub could read the nonce first, and then try requests of its own until the code equals the one on the new device.
/// - The new device reveals its request only after it has got the nonce and the account. Before that, the hub knows only a hash with 32
///   random bytes, and cannot compute the code that a nonce of its own would result in. If the new device revealed its request first, the
///   hub could try nonces until the code equals the one on the existing device.
/// - Whichever join the hub completes first, the code of the other one is then a value that neither the hub nor a device can choose. It
///   equals the first one with a probability of 1 in 1,000,000; otherwise the user sees two different codes, and the join ends.
struct JoinTranscript: Hashable, Sendable {
  let digest: Digest

  init(_ commitment: Digest, _ challenge: JoinChallenge, _ request: JoinRequest) throws {
    var writer = WireWriter()
    writer.write("CipherData sync join transcript")
    writer.write(commitment)
    writer.write(challenge)
    writer.write(request)
    digest = try SHA256.digest(of: writer.bytes)
  }

  /// The commitment to a request.
  static func commitment(to request: JoinRequest, blinding: [UInt8]) throws -> Digest {
    var writer = WireWriter()
    writer.write("CipherData sync join commitment")
    writer.write(request)
    writer.write(blinding)
    return try SHA256.digest(of: writer.bytes)
  }

  var code: JoinCode { JoinCode(number: Int(digest.words.0 % 1_000_000)) }

  /// The purpose for which the account's keys are encrypted: this join only.
  var purpose: [UInt8] {
    var writer = WireWriter()
    writer.write("CipherData sync join grant")
    writer.write(digest)
    return writer.bytes
  }
}

/// The short authentication string: six digits that the user compares on both devices.
package struct JoinCode: Hashable, Sendable, CustomStringConvertible {
  package let number: Int

  package init(number: Int) { self.number = number }

  /// Reads six digits with any spaces and dashes; nil for another text.
  package init?(parsing text: String) {
    let digits = text.filter { $0 != " " && $0 != "-" }
    guard digits.utf8.count == 6, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else { return nil }
    self.number = number
  }

  /// The digits in two groups, such as `042 917`.
  package var description: String {
    let digits = String(1_000_000 + number).dropFirst()
    return digits.prefix(3) + " " + digits.suffix(3)
  }
}
