-- Stage in for jobs of Slurm: what a job names by `#FOREBAY warm PATH` is brought to the nodes of its
-- volume while the job waits. Written by `forebay slurm print`; it belongs beside slurm.conf, on the
-- machine of slurmctld, which has the volume mounted, too.
--
-- Results need no stage out: files of a shared volume and of one in a bucket are written back by the
-- mounts themselves.

local forebay = "@FOREBAY@"

-- A word that a shell takes as it is, whatever a user has written.
local function quoted(word)
    return "'" .. string.gsub(word, "'", "'\\''") .. "'"
end

-- The paths that a job script names, or nil and why it can't be understood.
local function paths_of(job_script)
    local file = io.open(job_script, "r")
    if file == nil then
        return nil, "the job script can't be read"
    end
    local paths = {}
    for line in file:lines() do
        local words = string.match(line, "^#FOREBAY%s*(.-)%s*$")
        if words ~= nil then
            local path = string.match(words, "^warm%s+(/.*)$")
            if path == nil then
                file:close()
                return nil, "#FOREBAY takes `warm` and one absolute path, not: " .. words
            end
            paths[#paths + 1] = path
        end
    end
    file:close()
    return paths
end

function slurm_bb_job_process(job_script, uid, gid)
    local paths, why = paths_of(job_script)
    if paths == nil then
        return slurm.ERROR, why
    end
    return slurm.SUCCESS
end

-- A job whose files could not be brought runs all the same, and reads them then.
function slurm_bb_data_in(job_id, job_script, uid, gid)
    local paths = paths_of(job_script) or {}
    for _, path in ipairs(paths) do
        local warm = forebay .. " warm -- " .. quoted(path)
        local command = 'if [ "$(id -u)" = 0 ]; then ' .. warm .. "; else sudo -n " .. warm .. "; fi 2>&1"
        local pipe = io.popen(command, "r")
        local said = pipe:read("*a")
        pipe:close()
        slurm.log_info("forebay: job %s: %s", tostring(job_id), (string.gsub(said, "%s+", " ")))
    end
    return slurm.SUCCESS
end

local function nothing_to_do()
    return slurm.SUCCESS
end

slurm_bb_pools = nothing_to_do
slurm_bb_job_teardown = nothing_to_do
slurm_bb_setup = nothing_to_do
slurm_bb_real_size = nothing_to_do
slurm_bb_paths = nothing_to_do
slurm_bb_pre_run = nothing_to_do
slurm_bb_post_run = nothing_to_do
slurm_bb_data_out = nothing_to_do

function slurm_bb_get_status(uid, gid, ...)
    return slurm.SUCCESS, "forebay: #FOREBAY warm PATH\n"
end
