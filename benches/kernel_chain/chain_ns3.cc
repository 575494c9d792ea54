// The chain of nine stations on the events of ns-3. Parameters are NAME=VALUE, as run.py beside it
// gives them. Prints a line of JSON.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/nstime.h"
#include "ns3/simulator.h"

namespace {

constexpr int kManager = 9, kCores = 10;
// The manager, stations 0 to 4, perhaps the manager, station 5, a core, stations 6 to 8.
constexpr int kWay[] = {kManager, 0, 1, 2, 3, 4, kManager, 5, kCores, 6, 7, 8};
constexpr int kSteps = 12, kBranch = 6;

struct Job {
  double arrived_ns = 0;
  uint64_t number = 0;
  int step = 0;
  bool overflowed = false, fell_back = false;
};

struct Place {
  int free = 0;
  std::deque<Job*> waiting;
};

std::map<std::string, double> given;
std::vector<double> service_ns;
std::mt19937_64 rng;
std::vector<Place> places(11);
std::vector<double> times;
uint64_t requests, arrived, visits, overflows, fallbacks;

double Exponential(double mean) { return std::exponential_distribution<double>(1.0)(rng) * mean; }
double Now() { return ns3::Simulator::Now().GetPicoSeconds() / 1e3; }
ns3::Time After(double ns) { return ns3::PicoSeconds(static_cast<int64_t>(std::llround(ns * 1e3))); }

void Done(int place, Job* job);

double InSoftware(int step) {
  double ns = 0;
  for (; step < kSteps; ++step) {
    if (kWay[step] == kCores) ns += Exponential(given["application_ns"]);
    else if (kWay[step] != kManager) ns += given["software"] * Exponential(service_ns[kWay[step]]);
  }
  return ns;
}

void Start(int place, Job* job) {
  double ns;
  if (place == kManager) ns = given["manager_ns"];
  else if (place == kCores) ns = job->fell_back ? InSoftware(job->step) : Exponential(given["application_ns"]);
  else ns = Exponential(service_ns[place]) + (job->overflowed ? given["fetch_ns"] : 0.0);
  ns3::Simulator::Schedule(After(ns), &Done, place, job);
}

void Enter(Job* job) {
  int place = kWay[job->step];
  job->overflowed = false;
  if (place < kManager) {
    ++visits;
    const double waiting = places[place].waiting.size();
    if (places[place].free == 0 && waiting >= given["entries"] + given["overflow"]) {
      job->fell_back = true;
      place = kCores;
    } else if (places[place].free == 0 && waiting >= given["entries"]) {
      job->overflowed = true;
      ++overflows;
    }
  }
  if (places[place].free == 0) {
    places[place].waiting.push_back(job);
    return;
  }
  --places[place].free;
  Start(place, job);
}

void Done(int place, Job* job) {
  Place& at = places[place];
  if (at.waiting.empty()) {
    ++at.free;
  } else {
    Job* next = at.waiting.front();
    at.waiting.pop_front();
    Start(place, next);
  }
  ++job->step;
  if (job->step == kBranch && std::uniform_real_distribution<double>()(rng) >= given["branch"]) ++job->step;
  if (job->step < kSteps && !job->fell_back) return Enter(job);
  if (job->number >= requests / 10) {
    fallbacks += job->fell_back;
    times.push_back(Now() - job->arrived_ns);
  }
  delete job;
}

void Arrive() {
  Job* job = new Job;
  job->arrived_ns = Now();
  job->number = arrived++;
  if (arrived < requests) ns3::Simulator::Schedule(After(Exponential(given["gap_ns"])), &Arrive);
  Enter(job);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    if (name != "service_ns") {
      given[name] = std::stod(value);
      continue;
    }
    std::stringstream all(value);
    for (std::string one; std::getline(all, one, ',');) service_ns.push_back(std::stod(one));
  }
  ns3::Time::SetResolution(ns3::Time::PS);
  rng.seed(static_cast<uint64_t>(given["seed"]));
  requests = static_cast<uint64_t>(given["requests"]);
  for (int place = 0; place < kManager; ++place) places[place].free = static_cast<int>(given["elements"]);
  places[kManager].free = 1;
  places[kCores].free = static_cast<int>(given["cores"]);
  ns3::Simulator::Schedule(After(Exponential(given["gap_ns"])), &Arrive);
  const auto begin = std::chrono::steady_clock::now();
  ns3::Simulator::Run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ns3::Simulator::Destroy();
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (double time : times) sum += time;
  const size_t rank = static_cast<size_t>(std::ceil(0.99 * times.size())) - 1;
  std::printf(
      "{\"seconds\": %.9f, \"requests\": %llu, \"mean_us\": %.9f, \"p99_us\": %.9f, "
      "\"overflow_share\": %.9f, \"fallback_share\": %.9f}\n",
      took.count(), static_cast<unsigned long long>(arrived), sum / times.size() / 1e3,
      times[rank] / 1e3, static_cast<double>(overflows) / visits,
      static_cast<double>(fallbacks) / times.size());
}
